// Start: read the data of the page, build the model, draw all sections.
"use strict";

function showProblem(error) {
  const place = byId("problem");
  place.hidden = error === null;
  place.textContent = error === null ? "" : error.message;
}

async function readData(id) {
  const element = byId(id), text = element.textContent;
  element.remove();
  if (!element.dataset.packed) return JSON.parse(text);
  if (typeof DecompressionStream === "undefined")
    throw new Error("This browser is too old to open a large model: it cannot decompress data.");
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

async function start() {
  const [facts, spec] = [await readData("facts"), await readData("model")];
  const model = new Model(spec);
  drawOverview(model, facts, byId("overview"));
  const nomogram = new Nomogram(model, facts, byId("try"));
  drawQuality(model, facts, byId("quality"));
  drawColumns(model, facts, byId("columns"));
  // For scripts and tests: probabilities of a record, in the order of the classes, and the state of the nomogram.
  window.sunrise = {
    model, nomogram,
    posterior: (record) => model.score(model.values(record)).p,
    set(name, value) {
      const j = model.columns.findIndex((column) => column.name === name);
      if (j < 0) throw new Error(`The model has no column ${name}.`);
      nomogram.set(j, value);
    },
  };
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => { showProblem(error); document.documentElement.dataset.ready = "no"; console.error(error); });
