import { Type } from 'typebox'
import { key, list, object, word } from './fields.ts'

const name = 'name of a right, or `*` for every one'
const right = word('A right.', name)

/** The grants of a token, in the order in which they were given. */
export const grants = (description: string) =>
  Type.Immutable(
    list(
      description,
      object('A role, or rights, in a place.', {
        place: key('The namespace, or `*` for every one and the deployment itself.'),
        role: Type.Optional(word('The role; absent where rights are given one by one.', 'name of a role')),
        rights: Type.Optional(Type.Immutable(list('The rights that are given one by one.', right))),
        rule: Type.Optional(word('The rule that gave it, of a login or an exchange.', 'name of a rule')),
      }),
    ),
  )

/** What roles mean, by name. */
export const meanings = (description: string) =>
  Type.Record(Type.String(), Type.Immutable(Type.Array(right)), {
    description,
    unit: 'names of rights by name of a role; `*` for every one',
    personal: 'none',
  })
