// One dialog serves the cordon buttons of all nodes.

const dialog = document.getElementById("cordon-dialog");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-cordon]");
  if (!button || !dialog) return;
  dialog.querySelector("[data-cordon-form]").action = button.dataset.action;
  dialog.querySelector("[data-drain-button]").formAction = button.dataset.drain;
  dialog.querySelector("[data-cordon-name]").textContent = button.dataset.cordon;
  dialog.showModal();
});
