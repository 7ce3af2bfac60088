import type { Names } from './identifiers.ts'
import type { Field } from './readers/field.ts'
import { texts } from './readers/texts.ts'

/** Metadata that a token is given beside the service's own (api.md §5.4 A7), by whoever creates it and by the configuration of the first token. */
export const tokenMetadata = ({ isReserved }: Pick<Names, 'isReserved'>): Field<Readonly<Record<string, string>>> =>
  texts({
    maxEntries: 32,
    maxKey: 128,
    maxValue: 1024,
    key: (key) => (isReserved(key) ? `key "${key}" is reserved` : undefined),
  })
