// An option such as `--print-launch` is looked for as it is written: to the search, a dash in front excludes a word.
document.addEventListener(
  "input",
  ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches("[data-md-component=search-query]")) return;
    const words = target.value.replace(/(^|\s)-+/g, "$1");
    if (words !== target.value) target.value = words;
  },
  true,
);
