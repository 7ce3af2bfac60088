import type { Option } from './field.tsx'

/** The options that a table of words comes to, in its order. */
export const choicesOf = <V extends string>(words: Readonly<Record<V, string>>): readonly Option<V>[] =>
  (Object.entries(words) as [V, string][]).map(([value, label]) => ({ value, label }))
