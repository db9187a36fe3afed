// What the theme's bundle expects in the page: values in the browser's storage, below the address of the site.
window.__md_scope = new URL(document.currentScript.dataset.base, location)
window.__md_hash = (text) => [...text].reduce((sum, letter) => (sum << 5) - sum + letter.charCodeAt(0), 0)
window.__md_get = (key, storage = localStorage, scope = __md_scope) =>
  JSON.parse(storage.getItem(`${scope.pathname}.${key}`))
window.__md_set = (key, value, storage = localStorage, scope = __md_scope) => {
  try {
    storage.setItem(`${scope.pathname}.${key}`, JSON.stringify(value))
  } catch {
    // A browser that stores nothing shows the default.
  }
}
