/** What is known of the one who asks. Own and inherited names alike may be asked for: only a value that is text counts. */
export type Context = Readonly<Record<string, string>>

/** The text under a name, `""` if there is none. Nothing inherited by an object is text, so `constructor` and the like are ordinary names. */
export const textOf = (context: Context, name: string): string => {
  const value: unknown = context[name]
  return typeof value === 'string' ? value : ''
}
