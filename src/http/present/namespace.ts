import type { Namespace } from '../../contract/resource.ts'
import type { NamespaceDoc } from '../../projections/resource-model.ts'

export const namespaceJson = (doc: NamespaceDoc): Namespace => {
  const { key, name, description, createdAt, updatedAt } = doc
  return { key, name, description, protected: doc.protected, createdAt, updatedAt }
}
