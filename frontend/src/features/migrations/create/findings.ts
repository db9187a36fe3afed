const PLAIN = /^[A-Za-z0-9_-]+$/

/** A part of a path as the server writes it. */
export const part = (name: string) => (PLAIN.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)
