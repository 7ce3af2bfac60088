import type { Role, Roles } from '../../api/access.ts'
import { EVERY } from '../../api/access.ts'
import type { Failure } from '../../api/failure.ts'
import type { NewToken } from '../../api/tokens.ts'
import { tooLong } from '../../parts/editing/rules.ts'
import { fields } from '../../words/common.ts'
import { tokens } from '../../words/tokens.ts'
import { type Chosen, expiryOf } from './expiration.tsx'

const { form } = tokens

/** Value of the role field that stands for full access. */
export const FULL = '*'
/** Role in one of several namespaces. */
export type PlaceDraft = { readonly id: string; readonly namespace: string; readonly role: string }
export type Scope = 'all' | 'one' | 'several'
export type Draft = {
  readonly name: string
  readonly description: string
  readonly expiry: Chosen
  readonly scope: Scope
  /** For scope `one`; `role` also for `all`. */
  readonly namespace: string
  readonly role: string
  /** For scope `several`: roles in namespaces, and one role everywhere. */
  readonly places: readonly PlaceDraft[]
  readonly everywhere: string
  readonly reason: string
}
/** Validation errors by field; those of place n are `places.n.namespace` and `places.n.role`. */
export type Wrong = Readonly<Record<string, string>>

const accessFlaws = ({ scope, namespace, role, places }: Draft): Wrong => {
  if (scope === 'several')
    return Object.fromEntries(
      places.flatMap((place, n) => [
        ...(place.namespace === '' ? [[`places.${n}.namespace`, fields.namespaceMissing]] : []),
        ...(place.role === '' ? [[`places.${n}.role`, form.roleMissing]] : []),
      ]),
    )
  return {
    ...(scope === 'one' && namespace === '' && { namespace: fields.namespaceMissing }),
    ...(role === '' && { role: form.roleMissing }),
  }
}

/** Validation errors of the draft. */
export const flawsOf = (draft: Draft): Wrong => {
  const { name, description, expiry } = draft
  const { wrong } = expiryOf(expiry)
  return {
    ...(name.trim() === '' ? { name: fields.nameEmpty(tokens.thing) } : tooLong('name', name, 255)),
    ...tooLong('description', description, 1024),
    ...(wrong !== undefined && { expiry: wrong }),
    ...accessFlaws(draft),
  }
}

const accessOf = ({ scope, namespace, role, places, everywhere }: Draft): Partial<NewToken> => {
  if (scope === 'several')
    return {
      grants: [
        ...places.map((place) => ({ role: place.role, namespaceKey: place.namespace })),
        ...(everywhere === '' ? [] : [{ role: everywhere, namespaceKey: EVERY }]),
      ],
    }
  return { ...(scope === 'one' && { namespaceKey: namespace }), ...(role !== FULL && { role }) }
}

/** Namespaces that the token can reach by name; `*` for all. */
export const namespacesOf = (draft: Draft): readonly string[] => {
  const { namespaceKey, grants } = accessOf(draft)
  return grants ? grants.map((grant) => grant.namespaceKey) : [namespaceKey ?? EVERY]
}

/** Body of the request (api.md §5.4 A7). */
export const bodyOf = (draft: Draft): NewToken => {
  const { instant } = expiryOf(draft.expiry)
  return {
    name: draft.name.trim(),
    ...(draft.description !== '' && { description: draft.description }),
    ...(instant !== undefined && { expiresAt: instant }),
    ...accessOf(draft),
  }
}

/** Maps a field of the request to a field of the form. */
const fieldOf = (field: string, { places }: Draft): string | undefined => {
  const [, n, member = 'role'] = /^grants\[(\d+)\](?:\.(\w+))?$/.exec(field) ?? []
  if (n !== undefined) {
    if (Number(n) >= places.length) return 'everywhere'
    return `places.${n}.${member === 'namespaceKey' ? 'namespace' : 'role'}`
  }
  return { name: 'name', description: 'description', expiresAt: 'expiry', namespaceKey: 'namespace', role: 'role' }[
    field
  ]
}

/** Maps a failure of the service to errors by field. */
export const refusedFields = ({ fields: found, status, message }: Failure, draft: Draft): Wrong => {
  if (status === 404) {
    const gone = (key: string) => key !== '' && message.includes(JSON.stringify(key))
    const at = draft.places.findIndex(({ namespace }) => gone(namespace))
    if (draft.scope === 'one' && gone(draft.namespace)) return { namespace: message }
    return draft.scope === 'several' && at !== -1 ? { [`places.${at}.namespace`]: message } : {}
  }
  if (status !== 400) return {}
  return Object.fromEntries(
    found.flatMap(({ field, description }) => {
      const here = fieldOf(field, draft)
      if (here === undefined) return []
      return [[here, here === 'role' && draft.role === FULL ? form.roleWanted : description]]
    }),
  )
}

const widthOf = ({ rights }: Role): number => (rights.includes(EVERY) ? Number.POSITIVE_INFINITY : rights.length)

/** Roles that the signed-in identity may grant in a place, narrowest first; `''` is any place. */
export const offeredIn = ({ roles }: Roles, place: string): readonly Role[] =>
  roles
    .filter(({ grantable }) =>
      place === '' ? grantable.length > 0 : grantable.includes(EVERY) || grantable.includes(place),
    )
    .toSorted((one, other) => widthOf(one) - widthOf(other))

/**
 * Rights that a role gives to a token: everywhere, in one of several namespaces, or in the namespace that it is bound
 * to.
 */
export const rightsOf = (
  rights: readonly string[],
  { rights: all }: Roles,
  where: 'everywhere' | 'there' | 'bound',
): readonly string[] => {
  if (where === 'everywhere') return rights
  const there = all.filter(({ name, level }) =>
    where === 'bound' ? level === 'namespace' && !name.startsWith('token.') : level !== 'deployment',
  )
  return there.map(({ name }) => name).filter((name) => rights.includes(EVERY) || rights.includes(name))
}
