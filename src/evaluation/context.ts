/**
 * Properties of the entity. A property counts only if its value is text, so any name, including inherited ones, can be
 * looked up.
 */
export type Context = Readonly<Record<string, string>>

/**
 * Text of a property; `""` if there is none. Inherited properties of objects are not text, so `constructor` is an
 * ordinary name.
 */
export const textOf = (context: Context, name: string): string => {
  const value: unknown = context[name]
  return typeof value === 'string' ? value : ''
}
