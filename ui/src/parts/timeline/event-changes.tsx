import type { HistoryEvent } from '../../api/history.ts'
import { common } from '../../words/common.ts'
import { eventWords as words } from '../../words/history.ts'
import { Safe } from '../feedback/safe.tsx'

type Change = HistoryEvent['changes'][number]

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value || common.emptyValue : JSON.stringify(value, null, 2)

/** JSON Pointer as words: its names, separated by arrows. */
const pathOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ')

const kindOf = (change: Change): string => {
  if (!('from' in change) && 'to' in change) return words.added
  return 'to' in change ? words.changed : words.removed
}

/** Value before or after a change, with its sign. */
const Side = ({ sign, name, value }: { readonly sign: '+' | '−'; readonly name: string; readonly value: unknown }) => (
  <div className={sign === '+' ? 'side added' : 'side removed'}>
    <span className="visually-hidden">{name}</span>
    <span aria-hidden="true">{sign}</span>
    <code>
      <Safe text={textOf(value)} />
    </code>
  </div>
)

/** Differences that an event made: each field with its values before and after. */
export const EventChanges = ({ changes }: Pick<HistoryEvent, 'changes'>) => (
  <ul className="event-changes" aria-label={words.changes}>
    {changes.map((change) => (
      <li key={change.path} className="tight">
        <div>
          <code>
            <Safe text={pathOf(change.path) || words.whole} />
          </code>{' '}
          <span className="muted small">{kindOf(change)}</span>
        </div>
        {'from' in change && <Side sign="−" name={words.before} value={change.from} />}
        {'to' in change && <Side sign="+" name={words.after} value={change.to} />}
      </li>
    ))}
  </ul>
)
