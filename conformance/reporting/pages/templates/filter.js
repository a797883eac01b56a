"use strict";
// Hides rows and columns of the matrix. What is chosen stands in the address, so that it can be sent.
(() => {
  const table = document.getElementById("matrix");
  const form = document.getElementById("filters");
  const fields = ["text", "document", "area", "strength", "verdict", "edition"];
  const field = (name) => document.getElementById("f-" + name);
  const boxes = [...form.querySelectorAll("input[name=client]")];
  const rows = [...table.querySelectorAll("tbody tr:not(.section)")];
  const heads = [...table.tHead.rows[1].cells].map((cell) => cell.dataset.g);
  const sheet = document.head.appendChild(document.createElement("style"));

  const apply = () => {
    const wanted = Object.fromEntries(fields.map((name) => [name, field(name).value]));
    const text = wanted.text.trim().toLowerCase();
    const off = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
    const shown = heads.map((group) => !off.has(group));
    const hidden = shown.flatMap((is, at) => is ? [] : [`#matrix tr:not(.section)>td:nth-child(${at + 2})`]);
    const groups = [...off].map((group) => `#matrix thead [data-g="${group}"]`);
    sheet.textContent = [...hidden, ...groups].map((selector) => selector + "{display:none}").join("");
    let count = 0;
    for (const row of rows) {
      const data = row.dataset;
      let is = (!wanted.document || data.d === wanted.document) && (!wanted.area || data.a === wanted.area)
        && (!wanted.strength || data.s === wanted.strength)
        && (!wanted.edition || data.e.split(" ").includes(wanted.edition))
        && (!text || row.cells[0].textContent.toLowerCase().includes(text)
          || row.cells[row.cells.length - 1].textContent.toLowerCase().includes(text));
      if (is && wanted.verdict) {
        const said = shown.flatMap((on, at) => on ? [row.cells[at + 1].className] : []).filter((verdict) => verdict !== "none");
        is = wanted.verdict === "differ" ? new Set(said).size > 1 : said.includes(wanted.verdict);
      }
      row.hidden = !is;
      count += is;
    }
    for (const body of table.tBodies) {
      body.hidden = ![...body.rows].some((row) => !row.hidden && !row.classList.contains("section"));
    }
    document.getElementById("count").textContent = `${count} of ${rows.length} clauses`;
    const said = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
    if (off.size) said.set("without", [...off].join(","));
    history.replaceState(null, "", said.size ? "#" + said : location.pathname + location.search);
  };

  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of fields) if (given.has(name)) field(name).value = given.get(name);
  const without = (given.get("without") || "").split(",");
  for (const box of boxes) box.checked = !without.includes(box.value);
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
  apply();
})();
