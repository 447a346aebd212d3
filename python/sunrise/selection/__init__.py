"""Which family a column gets: rules by type, choice by leave-one-out score; and how much columns tell about the class:
mutual information, duplicate columns."""
