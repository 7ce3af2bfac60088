import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useRef } from 'react'
import { type Access, EVERY, placesOf, type Roles } from '../../api/access.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Choices, Select } from '../../parts/fields/field.tsx'
import { NamespaceField } from '../../parts/fields/namespace-field.tsx'
import { randomId } from '../../random-id.ts'
import { tokens } from '../../words/tokens.ts'
import { type Draft, offeredIn, type PlaceDraft, type Scope, type Wrong } from './new-token-draft.ts'
import { RoleField } from './role-field.tsx'

const words = tokens.form

type Given = {
  readonly draft: Draft
  readonly wrong: Wrong
  readonly access: Access
  readonly roles: Roles
  readonly onChange: (part: Partial<Draft>) => void
}

/** Namespaces to which the user's right to create tokens is limited; undefined if it is held everywhere. */
export const boundPlaces = (access: Access): readonly string[] | undefined => {
  const places = placesOf(access, 'token.create')
  return places[0] === EVERY ? undefined : places
}

export const freshPlace = (): PlaceDraft => ({ id: randomId(), namespace: '', role: '' })

/** Field for the namespace that a token is bound to. */
const Bound = ({ draft, wrong, access, roles, onChange }: Given) => {
  const places = boundPlaces(access)
  const choose = (namespace: string) => {
    const kept = offeredIn(roles, namespace).some(({ name }) => name === draft.role)
    onChange({ namespace, ...(!kept && !access.full && { role: '' }) })
  }
  if (!places)
    return (
      <NamespaceField label={words.namespace} value={draft.namespace} wrong={wrong['namespace']} onChange={choose} />
    )
  return (
    <Select
      label={words.namespace}
      value={draft.namespace}
      options={places.map((key) => ({ value: key, label: key }))}
      wrong={wrong['namespace']}
      onChange={choose}
    />
  )
}

/** Fields for roles in several namespaces and one role everywhere. */
const Several = ({ draft: { places, everywhere }, wrong, roles, onChange }: Given) => {
  const list = useRef<HTMLDivElement>(null)
  const change = (id: string, part: Partial<PlaceDraft>) =>
    onChange({ places: places.map((place) => (place.id === id ? { ...place, ...part } : place)) })
  const remove = (id: string) => {
    onChange({ places: places.filter((place) => place.id !== id) })
    list.current?.querySelector<HTMLElement>('[data-add]')?.focus()
  }
  return (
    <div className="stack" ref={list}>
      {places.map(({ id, namespace, role }, n) => (
        <div className="stack grant" role="group" aria-label={words.place(n + 1)} key={id}>
          <div className="grant-head">
            <span className="label">{words.place(n + 1)}</span>
            {places.length > 1 && (
              <IconButton name={words.removePlace(n + 1)} icon={<TrashIcon />} onClick={() => remove(id)} />
            )}
          </div>
          <NamespaceField
            label={words.namespace}
            value={namespace}
            wrong={wrong[`places.${n}.namespace`]}
            onChange={(key) => change(id, { namespace: key })}
          />
          <RoleField
            label={words.role}
            roles={roles}
            place={namespace}
            where="there"
            value={role}
            wrong={wrong[`places.${n}.role`]}
            none={words.chooseRole}
            onChange={(next) => change(id, { role: next })}
          />
        </div>
      ))}
      <div>
        <Button data-add="" onClick={() => onChange({ places: [...places, freshPlace()] })}>
          <PlusIcon />
          {words.addPlace}
        </Button>
      </div>
      <RoleField
        label={words.everywhere}
        roles={roles}
        place={EVERY}
        where="everywhere"
        value={everywhere}
        wrong={wrong['everywhere']}
        none={words.nothingEverywhere}
        onChange={(role) => onChange({ everywhere: role })}
      />
    </div>
  )
}

/** Fields for the access of a new token. Nothing is preselected, and full access is the last option. */
export const AccessFields = (given: Given) => {
  const { draft, wrong, access, roles, onChange } = given
  const { scope } = draft
  const one = scope === 'one'
  const scopes: readonly Scope[] = boundPlaces(access) ? ['one'] : ['all', 'one', 'several']
  return (
    <>
      <Choices
        label={words.scope}
        value={scope}
        options={scopes.map((value) => ({ value, label: words.scopes[value] }))}
        onChange={(next) => onChange({ scope: next })}
      />
      {one && <Bound {...given} />}
      {scope === 'several' ? (
        <Several {...given} />
      ) : (
        <RoleField
          label={words.role}
          roles={roles}
          place={one ? draft.namespace : EVERY}
          where={one ? 'bound' : 'everywhere'}
          value={draft.role}
          wrong={wrong['role']}
          full={access.full ? words.full[scope] : undefined}
          none={words.chooseRole}
          onChange={(role) => onChange({ role })}
        />
      )}
    </>
  )
}
