import { knownNames } from '../../history/event-names.ts'
import { filterValuesIn } from '../../verifier/export/filter.ts'
import type { HistoryService } from '../services/history.ts'

type FilterServices = Pick<HistoryService, 'flagStore' | 'logins'>

/** Maximum length of the texts of a recorded filter together, in UTF-16 units. */
const MOST = 4_096

/** Filters whose values are words of the service, times, and places in the log. */
const CLOSED = new Set('category method outcome from to after before afterIndex beforeIndex'.split(' '))
/** Id of a token, login, request or event; the stream or subject of a token; the subject of a day. */
const ID = /^(?:(?:token-)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|network-\d{4}-\d\d-\d\d)$/
const STREAM = /^(flag|segment|namespace)-(.*)$/

const isTypePattern = (value: string): boolean => {
  const text = value.replaceAll(/^\*|\*$/g, '')
  return [...knownNames.types].some((type) => type.includes(text))
}

/** True for a value that names something in the history. Any other value may be a text that a person typed. */
const isName = ({ flagStore }: FilterServices, name: string, value: string, namespaces: readonly string[]): boolean => {
  if (CLOSED.has(name) || ID.test(value)) return true
  if (name === 'type') return isTypePattern(value)
  if (name === 'namespaceKey') return flagStore.row('namespaces', value) !== undefined
  if (name === 'flagKey' || name === 'segmentKey')
    return namespaces.some((key) => flagStore.row(`${name.slice(0, -3)}s`, `${key}+${value}`) !== undefined)
  const [, category, key] = (name === 'stream' && STREAM.exec(value)) || []
  return category !== undefined && flagStore.row(`${category}s`, key!) !== undefined
}

/**
 * Filters of a request as the history records them: names of what the history holds as given, each other text as its
 * keyed digest, because an event is never changed. The length of the record is bounded.
 */
export const recordedFilter = (
  services: FilterServices,
  given: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> => {
  const valuesIn = (text = '') => Object.values(filterValuesIn(text) ?? {}).flat()
  const namespaces = valuesIn(given.get('namespaceKey'))
  const filter: Record<string, string> = {}
  let left = MOST
  for (const [name, text] of given) {
    if (text === '') continue
    const areNames = name !== 'q' && valuesIn(text).every((value) => isName(services, name, value, namespaces))
    const isPlain = areNames && text.length <= left
    if (isPlain) left -= text.length
    filter[name] = isPlain ? text : services.logins.pseudonyms.filter(name, text)
  }
  return filter
}
