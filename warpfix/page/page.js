"use strict";
// The page says everything without this; with it, modules can be filtered and sorted, and commands copied.
(() => {
  const table = document.getElementById("modules");
  if (table) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const filter = document.getElementById("filter");
    const again = document.getElementById("again");
    const shown = document.getElementById("shown");
    const texts = rows.map((row) => (row.dataset.name + " " + row.cells[0].textContent).toLowerCase());

    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach((row, index) => {
        const fits = words.every((word) => texts[index].includes(word));
        row.hidden = !(fits && (!again.checked || Number(row.dataset.builds) > 1));
        count += row.hidden ? 0 : 1;
      });
      shown.textContent = `${count} of ${rows.length} shown`;
    };
    filter.addEventListener("input", apply);
    again.addEventListener("change", apply);
    document.getElementById("controls").hidden = false;
    apply();

    for (const head of table.tHead.rows[0].cells) {
      const key = head.dataset.key;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending" || (key === "name" && !head.hasAttribute("aria-sort"));
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => (key === "name" ? row.dataset.name : Number(row.dataset[key]));
        const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
        rows.slice().sort((a, b) => (up ? order(a, b) : order(b, a))).forEach((row) => body.append(row));
      });
    }
    // A link to a module that the filter hides shows it again.
    const reveal = () => {
      const row = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (row && row.hidden) {
        filter.value = "";
        again.checked = false;
        apply();
        row.scrollIntoView();
      }
      if (row && rows.includes(row)) row.focus({ preventScroll: true });
    };
    addEventListener("hashchange", reveal);
    reveal();
  }

  for (const line of document.querySelectorAll(".timeline")) {
    const said = line.querySelector(".touched");
    for (const bar of line.querySelectorAll("[aria-label].bar, svg > g[aria-label]")) {
      const say = () => { said.textContent = bar.getAttribute("aria-label"); };
      bar.addEventListener("focus", say);
      bar.addEventListener("pointerenter", say);
    }
  }

  for (const command of document.querySelectorAll(".command")) {
    if (!navigator.clipboard) break;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
    });
    command.append(button);
  }

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
