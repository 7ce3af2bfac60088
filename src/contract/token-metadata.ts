import type { Names } from './identifiers.ts'
import type { Field } from './readers/field.ts'
import { texts } from './readers/texts.ts'

/**
 * Metadata of a token in addition to the service's own (api.md §5.4 A7), from its creator or from the configuration of
 * the first token.
 */
export const tokenMetadata = ({ isReserved }: Pick<Names, 'isReserved'>): Field<Readonly<Record<string, string>>> =>
  texts({
    maxEntries: 32,
    maxKey: 128,
    maxValue: 1024,
    key: (key) => (isReserved(key) ? `key "${key}" is reserved` : undefined),
  })
