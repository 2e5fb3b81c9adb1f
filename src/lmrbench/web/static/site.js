// Sorts a table when a column header is clicked, and filters its rows. Without this script, tables show all rows.
"use strict";

const value = (row, column, kind) => {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (kind !== "number") return text.toLowerCase();
  const number = text === "" ? NaN : Number(text.replaceAll(",", ""));
  return Number.isNaN(number) ? null : number;
};

const compare = (left, right) => (typeof left === "number" ? left - right : left.localeCompare(right, "en", { numeric: true }));

const sort = (table, column, kind, direction) => {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row, column, kind), row]);
  // Rows without a value come last in both directions.
  const known = rows.filter(([key]) => key !== null).sort(([left], [right]) => direction * compare(left, right));
  body.append(...known.map(([, row]) => row), ...rows.filter(([key]) => key === null).map(([, row]) => row));
};

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.dataset.kind) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.kind === "number" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.ariaSort === first ? other : first;
      heads.forEach((item) => item.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      sort(table, column, head.dataset.kind, order === "ascending" ? 1 : -1);
    });
  });
}

for (const bar of document.querySelectorAll("[data-filters]")) {
  const rows = [...document.getElementById(bar.dataset.filters).tBodies[0].rows];
  if (rows.length < 2) continue;
  const fields = [...bar.querySelectorAll("[data-match]")];
  const named = (row) => [...row.querySelectorAll("th, [data-name]")].map((cell) => cell.textContent.toLowerCase()).join("\n");
  const fits = (row, field) =>
    field.dataset.match === "name"
      ? named(row).includes(field.value.trim().toLowerCase())
      : field.value === "" || row.dataset[field.dataset.match] === field.value;
  const show = () => {
    for (const row of rows) row.hidden = !fields.every((field) => fits(row, field));
    const shown = rows.filter((row) => !row.hidden).length;
    bar.querySelector("output").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
  };
  bar.addEventListener("input", show);
  bar.hidden = false;
  // The browser may restore earlier input.
  show();
}
