/** Settings by key of texts such as `server.http_port=0`. */
export const settingsOf = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(texts.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]))
