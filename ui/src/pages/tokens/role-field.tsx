import { EVERY, type Roles } from '../../api/access.ts'
import { Select } from '../../parts/fields/field.tsx'
import { access } from '../../words/access.ts'
import { tokens } from '../../words/tokens.ts'
import { FULL, offeredIn, rightsOf } from './new-token-draft.ts'

const words = tokens.form

/** Field for a role that the user may grant in a place; describes its rights. */
export const RoleField = ({
  label,
  roles,
  place,
  where,
  value,
  wrong,
  full,
  none,
  onChange,
}: {
  readonly label: string
  readonly roles: Roles
  /** A namespace, `*`, or empty if not chosen yet. */
  readonly place: string
  readonly where: 'everywhere' | 'there' | 'bound'
  readonly value: string
  readonly wrong: string | undefined
  /** Label of full access; absent if it cannot be granted. */
  readonly full?: string | undefined
  /** Label of the option without a role. */
  readonly none: string
  readonly onChange: (role: string) => void
}) => {
  const offered = offeredIn(roles, place)
  const given = value === FULL ? [EVERY] : offered.find(({ name }) => name === value)?.rights
  const rights = given && rightsOf(given, roles, where)
  const publishable = rights?.length === 1 && rights[0] === 'flag.evaluate'
  return (
    <Select
      label={label}
      value={given ? value : ''}
      options={[
        { value: '', label: none },
        ...offered.map(({ name, description }) => ({
          value: name,
          label: words.roleOption(access.role(name), description),
        })),
        ...(full === undefined ? [] : [{ value: FULL, label: full }]),
      ]}
      hint={rights && [access.can(rights), publishable && words.publishable].filter(Boolean).join(' ')}
      wrong={wrong}
      onChange={onChange}
    />
  )
}
