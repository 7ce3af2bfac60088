import type { TObject } from 'typebox'
import { escapeUnit } from '../../base/control-characters.ts'
import type { catalog } from '../catalog.ts'
import { changeFields } from '../change.ts'
import type { DataOf, EventOf } from '../define.ts'

type Catalog = typeof catalog

/** Summaries by category and type: one English sentence without a final stop for the data of an event. */
export type Summaries<C extends keyof Catalog> = {
  readonly [K in C]: { readonly [T in keyof Catalog[K] & string]: (data: DataOf<EventOf<Catalog[K]>, T>) => string }
}

/** Maximum characters of a text of a caller, and maximum UTF-16 units of a sentence. */
const TEXT = 80
const SENTENCE = 300

/** Characters that break or disorder a line, and unpaired surrogates. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu

const escaped = (character: string): string => {
  const json = JSON.stringify(character).slice(1, -1)
  return json === character ? escapeUnit(character) : json
}

/** A key, an id or a word of the service. Control characters are escaped as in JSON. */
export const plain = (text: string): string => text.replace(UNSAFE, escaped)

/** A text of a caller: a JSON string of at most 80 characters, and `…` if it was cut. */
export const quoted = (text: string): string => {
  // One character has one or two UTF-16 units, so a text of at most 80 units has at most 80 characters.
  const characters = text.length > TEXT ? Array.from(text.slice(0, 2 * TEXT + 1)) : []
  return plain(JSON.stringify(characters.length > TEXT ? `${characters.slice(0, TEXT).join('')}…` : text))
}

/** The sentence, cut to at most 300 UTF-16 units. A text is never cut within a surrogate pair. */
export const cut = (sentence: string): string =>
  sentence.length > SENTENCE ? `${sentence.slice(0, SENTENCE - 1).replace(/[\ud800-\udbff]$/, '')}…` : sentence

/** A number with its noun: `1 right`, `2 rights`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Names of the changed fields, in the order of the schema. */
export const changedFields = (schema: TObject, data: object): string =>
  changeFields(schema)
    .filter((name) => Object.hasOwn(data, name))
    .join(', ') || 'nothing'

/** The items in English, the last one after the conjunction: `a, b or c`; `none` without items. */
export const joined = (items: readonly string[], conjunction: string): string => {
  const last = items.at(-1)
  if (last === undefined) return 'none'
  return items.length === 1 ? last : `${items.slice(0, -1).join(', ')} ${conjunction} ${last}`
}
