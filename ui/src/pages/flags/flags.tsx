import { getRouteApi } from '@tanstack/react-router'
import { booleanAnswers } from '../../../../src/contract/answers.ts'
import { type ListedFlag, type Rollout, readFlags } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { toFlag, toNewFlag } from '../../links.ts'
import { Changed } from '../../parts/editing/changed.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Select } from '../../parts/fields/field.tsx'
import { AnswersBadge } from '../../parts/lists/answers-badge.tsx'
import { CreateLink } from '../../parts/lists/create-link.tsx'
import { List } from '../../parts/lists/list.tsx'
import { orderOf, sortOf, useListAddress } from '../../parts/lists/paging.ts'
import type { Column } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { zoneName } from '../../parts/moment.ts'
import { NamedLink } from '../../parts/named-link.tsx'
import { Time } from '../../parts/time.tsx'
import { useMissingHistory } from '../../parts/timeline/missing-right.ts'
import { usePreferences } from '../../preferences.ts'
import { useWhyNot } from '../../why-not.ts'
import { common } from '../../words/common.ts'
import { flags as words } from '../../words/flags.ts'

const SHOWN = 3

const rolloutWords = ({ threshold, segment }: Rollout): string => {
  if (threshold) return words.share(String(threshold.percentage), String(threshold.value))
  const { segmentKey = '', segmentKeys = [], value = false } = segment ?? {}
  return words.ofSegments(words.parts(segmentKey === '' ? segmentKeys : [segmentKey]), String(value))
}

const partsOf = ({ type, enabled, rollouts = [], ruleCount = 0, defaultVariant }: ListedFlag): readonly string[] => {
  if (type === 'BOOLEAN_FLAG_TYPE') {
    const { asked } = booleanAnswers(enabled, rollouts)
    const all = rollouts.map((rollout, n) =>
      n < asked ? rolloutWords(rollout) : words.notAsked(rolloutWords(rollout)),
    )
    return all.length > SHOWN ? [...all.slice(0, SHOWN), words.more(all.length - SHOWN)] : all
  }
  return [
    ...(ruleCount > 0 ? [enabled ? words.rules(ruleCount) : words.notAsked(words.rules(ruleCount))] : []),
    ...(defaultVariant ? [words.default(defaultVariant.key)] : []),
  ]
}

/** Summary of a flag's rules or rollouts in one sentence. */
const Targeting = ({ flag }: { readonly flag: ListedFlag }) => <Safe text={words.parts(partsOf(flag))} />

/** Summary of a flag's answers, with its default if it has rollouts. */
const State = ({ flag }: { readonly flag: ListedFlag }) => {
  const { type, enabled, rollouts = [] } = flag
  return (
    <span className="state">
      <AnswersBadge of={flag} />
      {rollouts.length > 0 && words.stateOf(type, enabled)}
    </span>
  )
}

const here = getRouteApi('/inside/ns/$ns/flags')

const optionsOf = <K extends string>(of: Readonly<Record<K, string>>, first: K) => [
  { value: first, label: of[first] },
  ...(Object.entries(of) as [K, string][])
    .filter(([value]) => value !== first)
    .map(([value, label]) => ({ value, label })),
]
const types = optionsOf(words.types, '')
const states = optionsOf(words.states, '')
const askedWhen = optionsOf(words.askedWhen, '')

const columnsOf = (ns: string, zone: string, readable: boolean): readonly Column<ListedFlag>[] => [
  {
    key: 'flag',
    head: words.columns.flag,
    sort: 'name',
    cell: ({ key, name }) => <NamedLink to={toFlag(ns, key)} name={name} thingKey={key} />,
  },
  { key: 'type', head: words.columns.type, cell: ({ type }) => words.typeOf(type) },
  {
    key: 'state',
    head: words.columns.state,
    cell: (flag) => <State flag={flag} />,
  },
  { key: 'targeting', head: words.columns.targeting, cell: (flag) => <Targeting flag={flag} /> },
  {
    key: 'asked',
    head: words.asked,
    sort: 'lastEvaluatedAt',
    cell: ({ lastEvaluatedAt }) =>
      lastEvaluatedAt === undefined ? common.notKnown : <Time instant={lastEvaluatedAt} toHour />,
  },
  {
    key: 'changed',
    head: words.columns.changed(zone),
    label: words.columns.changedLabel,
    sort: 'changedAt',
    cell: ({ key, changedAt, changedBy, updatedAt }) => (
      <Changed
        at={changedAt ?? updatedAt}
        by={changedBy}
        of={readable ? { namespaceKey: ns, flagKey: key } : undefined}
      />
    ),
  },
]

/** List page of the flags of a namespace, with a summary of their answers (ui.md §11.2). */
export const Flags = () => {
  const { ns } = here.useParams()
  const search = here.useSearch()
  const { q = '', page, at } = search
  const type = types.find(({ value }) => value === search.type)?.value ?? ''
  const state = states.find(({ value }) => value === search.state)?.value ?? ''
  // A past moment has only some of the hours.
  const last = at === undefined ? (askedWhen.find(({ value }) => value === search.asked)?.value ?? '') : ''
  const order = orderOf(search.sort, ['name', 'key', 'changedAt', 'lastEvaluatedAt'])
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at, { right: 'flag.create', namespaceKey: ns })
  const readable = useMissingHistory(ns) === undefined
  const asked = { q, type, enabled: state, last, sort: order.by, order: order.descending ? 'desc' : 'asc', page, at }
  const read = useListRead(keys.flags(ns), asked, (of, signal) => readFlags(ns, of, signal))
  const create = (
    <CreateLink to={toNewFlag(ns)} why={why}>
      {words.create}
    </CreateLink>
  )
  return (
    <List
      words={words}
      of={ns}
      at={at}
      read={{ ...read, rows: read.page?.flags ?? [] }}
      address={address}
      q={q}
      filtered={type !== '' || state !== '' || last !== ''}
      cleared={{ type: '', state: '', asked: '' }}
      filters={
        <>
          <Select
            label={words.type}
            hiddenLabel
            value={type}
            options={types}
            onChange={(value) => address.filter({ type: value })}
          />
          <Select
            label={words.state}
            hiddenLabel
            value={state}
            options={states}
            onChange={(value) => address.filter({ state: value })}
          />
          {at === undefined && (
            <Select
              label={words.asked}
              hiddenLabel
              value={last}
              options={askedWhen}
              onChange={(value) => address.filter({ asked: value })}
            />
          )}
        </>
      }
      create={create}
      nothing={
        <>
          <p>{words.noneWhy}</p>
          {create}
          <p className="muted">
            {words.importWhy} <code>{words.importLine}</code>
          </p>
        </>
      }
      table={{
        columns: columnsOf(ns, zoneName(zone), readable),
        rowKey: ({ key }) => key,
        heads: 'flag',
        order,
        onOrder: (next) => address.filter({ sort: sortOf(next, 'name') }),
      }}
    />
  )
}
