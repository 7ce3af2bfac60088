import type { Option } from './field.tsx'

/** Options from a record of labels, in its order. */
export const choicesOf = <V extends string>(words: Readonly<Record<V, string>>): readonly Option<V>[] =>
  (Object.entries(words) as [V, string][]).map(([value, label]) => ({ value, label }))
