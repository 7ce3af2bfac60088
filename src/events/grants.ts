import { Type } from 'typebox'
import { key, list, object, word } from './fields.ts'

const name = 'name of a right, or `*` for all rights'
const right = word('A right.', name)

/** Grants of a token, in the order in which they were given. */
export const grants = (description: string) =>
  Type.Immutable(
    list(
      description,
      object('A role or a list of rights, in one namespace or in all namespaces.', {
        place: key('Key of the namespace, or `*` for all namespaces and the deployment itself.'),
        role: Type.Optional(word('The role; absent if the grant is a list of rights.', 'name of a role')),
        rights: Type.Optional(Type.Immutable(list('The rights, if the grant has no role.', right))),
        rule: Type.Optional(word('The access rule that gave the grant to a login or an exchange.', 'name of a rule')),
      }),
    ),
  )

/** Rights of each role, by name of the role. */
export const meanings = (description: string) =>
  Type.Record(Type.String(), Type.Immutable(Type.Array(right)), {
    description,
    unit: 'names of rights by name of a role; `*` for all rights',
    personal: 'none',
  })
