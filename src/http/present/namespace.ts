import type { Namespace } from '../../contract/namespace.ts'
import type { NamespaceDoc } from '../../projections/namespaces.ts'

export const namespaceJson = (doc: NamespaceDoc): Namespace => {
  const { key, name, description, createdAt, updatedAt } = doc
  return { key, name, description, protected: doc.protected, createdAt, updatedAt }
}
