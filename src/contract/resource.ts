import { Type } from 'typebox'
import { isKey } from '../access/grants.ts'
import { changedFields, Instant, named, pageFields, type Shown, Text, times } from './answer.ts'
import { choice, flag, integer, optional, text } from './readers/fields.ts'
import { input, query } from './readers/input.ts'
import { atMoment } from './readers/moment.ts'

/** Key of a flag, segment or namespace (api.md §7.3). */
export const key = text({
  required: true,
  max: 255,
  pattern: { test: isKey, message: 'contains invalid characters' },
})
export const name = text({ required: true, max: 255 })
export const description = text({ max: 10_000 })

/** Query of a single resource, and of a list (api.md §7.7). */
export const single = query({ at: atMoment })
const page = {
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
  offset: integer({ min: 0, minMessage: 'must not be negative' }),
  pageToken: text({ stored: false }),
  at: atMoment,
}
export const paged = query(page)

/** Sort order of a list. */
export const order = choice({ asc: 0, desc: 1 }, 'asc')
const sorts = { createdAt: 0, name: 1, key: 2, changedAt: 3 } as const
/** Query of a list of namespaces, flags or segments. `q` matches a part of the key or name, regardless of case. */
export const searched = {
  ...page,
  q: text({ stored: false }),
  sort: choice(sorts, 'createdAt'),
  order,
}
/** Query of a list of flags, which can also be sorted by the last evaluation. */
export const searchedFlags = { ...searched, sort: choice({ ...sorts, lastEvaluatedAt: 4 }, 'createdAt') }

/** Query of a single flag or namespace; `include=usage` adds its last use. */
export const singleWithUsage = query({ include: optional(choice({ usage: 0 })), at: atMoment })

/** A namespace (api.md §7.2). */
export const Namespace = named('Namespace', {
  key: Text,
  name: Text,
  description: Text,
  protected: Type.Boolean(),
  ...times,
})
export type Namespace = Shown<typeof Namespace>
/**
 * A namespace in a list, or a single one. `include=usage` adds its last change, the numbers of its flags and segments,
 * and the hour in which its snapshot was last fetched.
 */
export const ListedNamespace = named('ListedNamespace', {
  ...Namespace.properties,
  ...changedFields,
  flagCount: Type.Optional(Type.Integer()),
  segmentCount: Type.Optional(Type.Integer()),
  snapshotFetchedAt: Type.Optional(Instant),
})
export type ListedNamespace = Shown<typeof ListedNamespace>
export const NamespaceList = named('NamespaceList', { namespaces: Type.Array(ListedNamespace), ...pageFields })
/** Query of the list of namespaces (api.md §7.7). */
export const namespaceQuery = query({ ...searched, include: optional(choice({ usage: 0 })) })

/** Bodies that create and replace a namespace, and the query of a deletion. */
export const newNamespace = input({ key, name, description }, 'NewNamespace')
export const namespaceUpdate = input({ name, description }, 'NamespaceUpdate')
export const namespaceDeletion = query({ force: flag() })
