import { Type } from 'typebox'
import { named, pageFields, type Shown, Text, times } from './answer.ts'
import { flag } from './fields.ts'
import { input, query } from './input.ts'
import { description, key, name } from './resource.ts'

/** A namespace (api.md §7.2). */
export const Namespace = named('Namespace', {
  key: Text,
  name: Text,
  description: Text,
  protected: Type.Boolean(),
  ...times,
})
export type Namespace = Shown<typeof Namespace>
export const NamespaceList = named('NamespaceList', { namespaces: Type.Array(Namespace), ...pageFields })

/** Bodies of a new namespace and of one that is replaced, and the query of a deletion. */
export const newNamespace = input({ key, name, description }, 'NewNamespace')
export const namespaceUpdate = input({ name, description }, 'NamespaceUpdate')
export const namespaceDeletion = query({ force: flag() })
