import { Type } from 'typebox'
import { changedFields, named, pageFields, type Shown, Text, times } from './answer.ts'
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
/** A namespace as lists have it: with `include=usage` with its last change and what is in it. */
export const ListedNamespace = named('ListedNamespace', {
  ...Namespace.properties,
  ...changedFields,
  flagCount: Type.Optional(Type.Integer()),
  segmentCount: Type.Optional(Type.Integer()),
})
export type ListedNamespace = Shown<typeof ListedNamespace>
export const NamespaceList = named('NamespaceList', { namespaces: Type.Array(ListedNamespace), ...pageFields })
/** Query of the list of namespaces (api.md §7.7). */
export const namespaceQuery = query({ ...searched, include: optional(choice({ usage: 0 })) })

/** Bodies of a new namespace and of one that is replaced, and the query of a deletion. */
export const newNamespace = input({ key, name, description }, 'NewNamespace')
export const namespaceUpdate = input({ name, description }, 'NamespaceUpdate')
export const namespaceDeletion = query({ force: flag() })
