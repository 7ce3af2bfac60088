import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { type EventFilter, filterIn, type Period } from '../../api/event-filters.ts'
import { useExportSize } from '../../api/export.ts'
import { type Failure, isFailure } from '../../api/failure.ts'
import { Button } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Chips } from '../../parts/lists/chips.tsx'
import { Loading } from '../../parts/lists/states.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Timeline } from '../../parts/timeline/timeline.tsx'
import { upTo } from '../../parts/timeline/up-to.ts'
import { common } from '../../words/common.ts'
import { history as words } from '../../words/history.ts'
import { filterWords } from '../../words/history-filters.ts'
import { filterOf, qualifierOf, termsOf, termText } from './filter-text.ts'
import { HistoryActions } from './history-actions.tsx'
import { HistoryOverview } from './history-overview.tsx'
import { type LivePage, useLivePage } from './live/use-live-page.ts'
import { ALL_TIME, RangeFields } from './range.tsx'
import { useHistoryReach } from './reach.ts'
import { SearchHistory } from './search-history.tsx'

const here = getRouteApi('/inside/history')

/** Explanations of the filters that the service refuses, by filter. */
const refusedBy = ({ fields }: Failure): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields.map(({ field, description }) => [
      field,
      field === 'from' || field === 'to' || field === 'q'
        ? filterWords.refused('', description)
        : filterWords.refused(qualifierOf(field) ?? field, description),
    ]),
  )

/** Number of the events of a filter; nothing while it is not known. */
const Count = ({ live: { exported, isAuditor } }: { readonly live: LivePage }) => {
  const { data } = useExportSize(exported, isAuditor)
  return data ? <span className="muted">{words.count(data)}</span> : null
}

/** Returns a function that changes the filter of the address, which may be newer than the one that is shown. */
const useChangeFilter = () => {
  const navigate = useNavigate()
  return (next: (now: EventFilter) => EventFilter) =>
    void navigate({
      to: '.',
      search: ({ at, live, ...now }: ReturnType<typeof here.useSearch>) =>
        ({ ...next(filterIn(now)), live, at }) as never,
      replace: true,
      resetScroll: false,
    })
}

const History = () => {
  const search = here.useSearch()
  const asked = filterIn(search)
  const { filter, namespace } = useHistoryReach(asked)
  const [refused, setRefused] = useState<{ readonly of: string; readonly failure: Failure } | undefined>()
  const name = JSON.stringify(filter)
  const wrong = refused?.of === name ? refusedBy(refused.failure) : {}
  const { from: _wrongFrom, to: _wrongTo, ...wrongTerms } = wrong
  const terms = termsOf(filter)
  const shown = upTo(filter, search.at)
  const live = useLivePage(shown, search)

  const change = useChangeFilter()
  const changePeriod = (period: Period) => change((now) => ({ ...now, ...period }))
  const onRefused = (error: unknown): boolean => {
    if (!isFailure(error) || error.status !== 400 || error.reason === 'invalid_page_token') return false
    if (refused?.failure !== error) setRefused({ of: name, failure: error })
    return error.fields.length > 0
  }
  const isNarrowed = Object.keys(asked).length > 0
  const clear = <Button onClick={() => change(() => ({}))}>{common.clearFilters}</Button>
  return (
    <>
      <PageHead heading={words.heading} title={[words.heading]}>
        <HistoryActions live={live} />
      </PageHead>
      {namespace !== undefined && (
        <p className="notice">
          <Safe text={words.bounded(namespace)} />
        </p>
      )}
      <div className="filters history-filters">
        <SearchHistory
          filter={filter}
          wrong={Object.values(wrongTerms)}
          onChange={(next) => change((now) => filterOf(next, now))}
        />
        <RangeFields filter={filter} refused={wrong} onChange={changePeriod} />
      </div>
      <div className="bar history-chips">
        <Chips
          name={filterWords.filters}
          values={terms.map(termText)}
          removeWords={filterWords.remove}
          onRemove={(text) =>
            change((now) =>
              filterOf(
                termsOf(now).filter((term) => termText(term) !== text),
                now,
              ),
            )
          }
        />
        {isNarrowed && clear}
        <span className="push">
          <Count live={live} />
        </span>
      </div>
      <Timeline
        filter={filter}
        search={search}
        live={live.isOn}
        onRefused={onRefused}
        nothing={
          <div className="bar">
            {(filter.from !== undefined || filter.to !== undefined) && (
              <Button onClick={() => changePeriod(ALL_TIME)}>{words.widen}</Button>
            )}
            {isNarrowed && clear}
          </div>
        }
      >
        <HistoryOverview filter={shown} live={live} onPeriod={changePeriod} />
      </Timeline>
    </>
  )
}

/** History: who did what, when, and why (ui.md §11.8). It reads nothing before the rights of the user are known. */
export const HistoryPage = () => {
  const { settled } = useAccess()
  if (settled) return <History />
  return (
    <>
      <PageHead heading={words.heading} title={[words.heading]} />
      <Loading />
    </>
  )
}
