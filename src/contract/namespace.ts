import { Type } from 'typebox'
import { changedFields, Instant, named, pageFields, type Shown, Text, times } from './answer.ts'
import { choice, flag, optional } from './readers/fields.ts'
import { input, query } from './readers/input.ts'
import { description, key, name, searched } from './resource.ts'

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
