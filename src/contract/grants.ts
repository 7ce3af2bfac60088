import { Type } from 'typebox'
import { EVERYWHERE } from '../access/grants.ts'
import { isRight, levelOf, RIGHTS, type Right } from '../access/rights.ts'
import type { Meanings } from '../access/roles.ts'
import { invalid } from '../base/errors.ts'
import { named, Text, Texts } from './answer.ts'
import { absent, list, object, optional, text } from './readers/fields.ts'
import { input } from './readers/input.ts'
import type { Field } from './readers/value.ts'

const MOST = 64

/** A grant in a record: a role or a list of rights in a namespace, and the rights that it gives there. */
export const GrantShown = named('Grant', {
  /** `*`: all namespaces and the deployment. */
  namespaceKey: Text,
  role: Type.Optional(Text),
  /** `*` as the only right means all rights, including those of later versions. */
  rights: Texts,
  /** The access rule that gave the grant to a login or an exchange. */
  rule: Type.Optional(Text),
})

/** A requested grant: exactly one of role and rights. */
export type GrantAsked = {
  readonly namespaceKey: string
  readonly role: string | undefined
  readonly rights: readonly Right[] | undefined
}

const word = text({ required: true })
/** Name of a role in this deployment. */
export const roleOf = (roles: Meanings): Field<string> => ({
  schema: word.schema,
  read: (value, name) => {
    const role = word.read(value, name)
    return Object.hasOwn(roles, role) ? role : invalid(name, `unknown role "${role}"`)
  },
})

/** Name of one right. */
export const rightName: Field<Right> = {
  schema: Type.Enum(RIGHTS),
  read: (value, name) => {
    const right = word.read(value, name)
    return isRight(right) ? right : invalid(name, `unknown right "${right}"`)
  },
}

const words = list(text({ stored: false }))
/** Names of rights, without duplicates, in the standard order. Messages refer to the list, not to an item. */
const rightList: Field<readonly Right[]> = {
  schema: Type.Array(rightName.schema, { minItems: 1 }),
  read: (value, name) => {
    const given = words.read(value, name)
    if (given.length === 0) invalid(name, 'must not be empty')
    for (const one of given) if (!isRight(one)) invalid(name, `unknown right "${one}"`)
    return RIGHTS.filter((right) => given.includes(right))
  },
}

const grant = (roles: Meanings): Field<GrantAsked> => {
  const members = object(
    input({
      namespaceKey: text({ required: true, trim: true }),
      role: optional(roleOf(roles)),
      rights: optional(rightList),
    }),
  )
  return {
    schema: members.schema,
    read: (value, name) => {
      const read = members.read(value, name)
      const { namespaceKey, role, rights } = read
      if ((role === undefined) === (rights === undefined)) invalid(name, 'needs either role or rights')
      const beyond = rights?.find((right) => levelOf(right) === 'deployment' && namespaceKey !== EVERYWHERE)
      if (beyond !== undefined) invalid(`${name}.rights`, `"${beyond}" can only be granted in every namespace`)
      return read
    },
  }
}

/** Requested grants, 1 to 64. */
export const grantsAsked = (roles: Meanings): Field<readonly GrantAsked[] | undefined> => {
  const { schema, read } = list(grant(roles), { max: MOST })
  return {
    schema: { ...schema, minItems: 1, maxItems: MOST },
    optional: true,
    read: (value, name) => {
      if (absent(value)) return undefined
      const given = read(value, name)
      return given.length === 0 ? invalid(name, 'must not be empty') : given
    },
  }
}
