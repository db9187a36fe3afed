/** What draws a chart, for tests: jsdom has no canvas. */
export default class Chart {
  static paths = { bars: () => null, linear: () => null, stepped: () => null }
  static sync = () => ({ sub: () => {}, unsub: () => {}, pub: () => {} })
  over = document.createElement('div')
  root = document.createElement('div')
  setData() {}
  setSize() {}
  setScale() {}
  setCursor() {}
  destroy() {}
}
