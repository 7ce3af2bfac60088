import { catalog } from '../events/catalog.ts'
import { knownTypes } from '../events/define.ts'
import { METHODS } from '../events/token.ts'

/** Names of types, categories and methods that this version knows. */
export const knownNames = {
  types: new Set(Object.values(catalog).flatMap(knownTypes)),
  categories: new Set(Object.keys(catalog)),
  methods: METHODS,
}
