
"use strict";
// What the page does beyond being read: show one branch alone, fold and unfold, switch the theme, follow the reader.
const root = document.documentElement;
root.classList.add("js");

const articles = new Map();
for (const article of document.querySelectorAll("article")) articles.set(article.dataset.n, article);
const rows = new Map();
for (const link of document.querySelectorAll("nav a")) rows.set(link.hash.slice(1), link.parentElement);

function show(tip) {
  const path = new Set();
  for (let n = tip; n !== undefined && articles.has(n); n = articles.get(n).dataset.up) path.add(n);
  for (const [n, article] of articles) {
    article.hidden = tip !== "all" && !path.has(n);
    const row = rows.get(article.id);
    if (row) row.hidden = article.hidden;
  }
  for (const button of document.querySelectorAll(".tools [data-show]")) {
    button.setAttribute("aria-pressed", String(button.dataset.show === tip));
  }
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.hidden) {
    show("all");
    target.scrollIntoView();
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  if (button.dataset.show !== undefined) {
    const article = button.closest("article");
    show(button.dataset.show);
    article?.scrollIntoView();
  } else if (button.dataset.fold !== undefined) {
    const open = button.dataset.fold === "open";
    for (const details of document.querySelectorAll("main details")) details.open = open;
    button.dataset.fold = open ? "closed" : "open";
    button.textContent = open ? "Fold all" : "Unfold all";
  } else if (button.dataset.themeSwitch !== undefined) {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }
});
addEventListener("hashchange", reveal);

let here;
const observer = new IntersectionObserver(
  (entries) => {
    const first = entries.find((entry) => entry.isIntersecting && rows.has(entry.target.id));
    if (!first) return;
    here?.classList.remove("here");
    here = rows.get(first.target.id);
    here.classList.add("here");
    here.scrollIntoView({ block: "nearest" });
  },
  { rootMargin: "0px 0px -75% 0px" },
);
for (const article of articles.values()) observer.observe(article);
reveal();
