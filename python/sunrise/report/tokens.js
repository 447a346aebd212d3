// Words and characters of a document, as the key `tokens` of a text block describes them.
"use strict";

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const WORD = /[\p{L}\p{N}_]{2,}/gu;

function tokensOf(text, how) {
  if (how.lowercase) text = text.toLowerCase();
  if (how.strip_accents !== null && /[^\x00-\x7f]/.test(text)) {
    text = text.normalize("NFKD");
    text = how.strip_accents === "ascii" ? text.replace(/[^\x00-\x7f]/g, "") : text.replace(/\p{M}/gu, "");
  }
  const [least, most] = how.ngram_range, found = [];
  if (how.analyzer === "word") {
    const stop = how.stop_words === null ? null : new Set(how.stop_words);
    const words = (text.match(WORD) || []).filter((word) => stop === null || !stop.has(word));
    for (let n = least; n <= most; n++)
      for (let i = 0; i + n <= words.length; i++) found.push(words.slice(i, i + n).join(" "));
    return found;
  }
  text = text.replace(new RegExp(`${SPACE}${SPACE}+`, "gu"), " ");
  if (how.analyzer === "char") {
    const letters = Array.from(text);
    for (let n = least; n <= most; n++)
      for (let i = 0; i + n <= letters.length; i++) found.push(letters.slice(i, i + n).join(""));
    return found;
  }
  for (const word of text.split(new RegExp(`${SPACE}+`, "u")).filter(Boolean)) {
    const letters = Array.from(` ${word} `);
    for (let n = least; n <= most; n++) {
      const last = Math.max(1, letters.length - n + 1);
      for (let i = 0; i < last; i++) found.push(letters.slice(i, i + n).join(""));
      if (n > letters.length) break;
    }
  }
  return found;
}

// The name of a hashed token: the lowest bits of its 64-bit FNV-1a hash, folded.
function hashedToken(token, bits) {
  let h = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(token)) h = BigInt.asUintN(64, (h ^ BigInt(byte)) * 0x100000001b3n);
  return "#" + BigInt.asUintN(bits, h ^ (h >> 32n)).toString().padStart(10, "0");
}
