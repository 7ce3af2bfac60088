import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import type { DiffItem } from '../../api/differences.ts'
import { thingOf, toThing } from '../../links.ts'
import { Button } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { RestoreThing } from '../../parts/restore-link.tsx'
import { compare as words } from '../../words/compare.ts'
import { placeOf, unchangedLines, valueText } from './lines.ts'
import { streamWords } from './scope.ts'
import type { Whole } from './wholes.ts'

type Change = DiffItem['changes'][number]

const Sides = ({ path, from, to, whole }: Change & { readonly whole: Whole | undefined }) => (
  <li className="tight">
    <strong>
      <Safe text={placeOf(path, whole)} />
    </strong>
    {from !== undefined && (
      <del>
        <span aria-hidden="true">− </span>
        <Safe text={valueText(from)} />
      </del>
    )}
    {to !== undefined && (
      <ins>
        <span aria-hidden="true">+ </span>
        <Safe text={valueText(to)} />
      </ins>
    )}
  </li>
)

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
