/** What is known of the one who asks. Own and inherited names alike may be asked for: only a value that is text counts. */
export type Context = Readonly<Record<string, string>>

/** A member of a JSON context as text (api.md §10): number in its shortest decimal text, boolean, null as `""`, array or object as compact JSON. */
export const contextText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** A parsed JSON object as a context. One that holds only text is returned as it is. */
export const contextOf = (parsed: Readonly<Record<string, unknown>>): Context => {
  for (const name in parsed) {
    if (typeof parsed[name] === 'string') continue
    const context = Object.create(null) as Record<string, string>
    for (const key of Object.keys(parsed)) context[key] = contextText(parsed[key])
    return context
  }
  return parsed as Context
}

/** The text under a name, `""` if there is none. Nothing inherited by an object is text, so `constructor` and the like are ordinary names. */
export const textOf = (context: Context, name: string): string => {
  const value: unknown = context[name]
  return typeof value === 'string' ? value : ''
}
