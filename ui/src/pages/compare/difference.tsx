import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { changedItems } from '../../../../src/contract/changed-items.ts'
import type { DiffItem, Json } from '../../api/differences.ts'
import { thingOf, toThing } from '../../links.ts'
import { Button } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { RestoreThing } from '../../parts/restore-link.tsx'
import { common } from '../../words/common.ts'
import { compare as words } from '../../words/compare.ts'
import { streamWords } from './scope.ts'
import type { Whole } from './wholes.ts'

const namesOf = (path: string): readonly string[] =>
  path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))

type Item = Json & { readonly id?: unknown }

/** Short name of a list item: its key, property or rank, else its id. */
const labelOf = ({ id, key, property, rank }: Item): string =>
  String([key, property, rank, id].find((one) => (typeof one === 'string' && one !== '') || typeof one === 'number'))

const memberOf = (value: unknown, name: string): unknown => {
  if (Array.isArray(value)) return value.find((item: Item | null) => item?.id === name)
  return typeof value === 'object' && value !== null ? (value as Json)[name] : undefined
}

/** Names a place in a resource; items of lists by a short name, where the resource is known. */
const placeOf = (path: string, whole: Whole | undefined): string => {
  let [before, after]: readonly [unknown, unknown] = [whole?.from, whole?.to]
  const parts = namesOf(path).map((name) => {
    const isItem = Array.isArray(after) || Array.isArray(before)
    ;[before, after] = [memberOf(before, name), memberOf(after, name)]
    return isItem ? labelOf({ id: name, ...((after ?? before) as Item | undefined) }) : name
  })
  return parts.length === 0 ? words.whole : words.path(parts)
}

/** Text of a value: JSON, indented where it has members. */
const valueText = (value: unknown): string => JSON.stringify(value, null, 2)

/** Line of a resource that is equal on both sides. */
type Line = { readonly path: string; readonly value: unknown }

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Array.isArray(value)
    ? value.map((item: Item | null, n): readonly [string, unknown] => {
        const id = item?.id
        return [typeof id === 'string' ? id : String(n), item]
      })
    : Object.entries(value)
  return found.length === 0 ? undefined : found
}

const escaped = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Values of a resource that no change covers. */
const unchangedLines = (value: unknown, changed: ReadonlySet<string>, path = ''): readonly Line[] => {
  if (changed.has(path)) return []
  const members = entriesOf(value)
  return members
    ? members.flatMap(([name, member]) => unchangedLines(member, changed, path + escaped(name)))
    : [{ path, value }]
}

type Change = DiffItem['changes'][number]

const Sides = ({ path, from, to, whole }: Change & { readonly whole: Whole | undefined }) => {
  const items = changedItems(from, to)
  const removed = items?.removed ?? (from === undefined ? [] : [from])
  const added = items?.added ?? (to === undefined ? [] : [to])
  return (
    <li className="tight">
      <strong>
        <Safe text={placeOf(path, whole)} />
      </strong>
      {items && <span className="muted small"> {common.unchanged(items.same)}</span>}
      {removed.map((value, n) => (
        <del key={n}>
          <span aria-hidden="true">− </span>
          <Safe text={valueText(value)} />
        </del>
      ))}
      {added.map((value, n) => (
        <ins key={n}>
          <span aria-hidden="true">+ </span>
          <Safe text={valueText(value)} />
        </ins>
      ))}
    </li>
  )
}

/** Values of a resource without a difference, which a button folds away. */
const Unchanged = ({ item, whole }: { readonly item: DiffItem; readonly whole: Whole }) => {
  const [open, setOpen] = useState(true)
  const id = useId()
  const lines = unchangedLines(whole.to, new Set(item.changes.map(({ path }) => path)))
  if (lines.length === 0 || item.kind !== 'changed') return null
  return (
    <>
      <div>
        <Button look="plain" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
          {words.unchanged(lines.length)}
        </Button>
      </div>
      <ul id={id} className="unchanged tight" aria-label={words.unchangedList} hidden={!open}>
        {lines.map(({ path, value }) => (
          <li key={path}>
            <Safe text={words.line(placeOf(path, whole), valueText(value))} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** One difference: the resource, its changes, and the link that restores its first state. */
export const Difference = ({
  item,
  whole,
  full,
  before,
}: {
  readonly item: DiffItem
  /** Both sides of the resource, if they are read. */
  readonly whole: Whole | undefined
  readonly full: boolean
  /** Position of the first moment; undefined if it is the present. */
  readonly before: string | undefined
}) => {
  const { stream, kind, changes } = item
  const thing = thingOf(stream)
  const name = streamWords(stream)
  return (
    <li className="card stack difference">
      <div className="bar">
        <h3>
          {thing && kind !== 'removed' ? <Link {...toThing(thing)}>{<Safe text={name} />}</Link> : <Safe text={name} />}
        </h3>
        <span className={`badge ${{ added: 'on', removed: 'gone', changed: 'some' }[kind]}`}>{words.kind[kind]}</span>
        {thing && kind !== 'added' && before !== undefined && (
          <span className="push">
            <RestoreThing thing={thing} moment={before} name={name} />
          </span>
        )}
      </div>
      <ul className="change-lines values">
        {changes.map((change) => (
          <Sides key={change.path} {...change} whole={whole} />
        ))}
      </ul>
      {full && whole && <Unchanged item={item} whole={whole} />}
    </li>
  )
}
