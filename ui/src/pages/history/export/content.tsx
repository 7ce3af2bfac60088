import type { EventFilter } from '../../../api/event-filters.ts'
import { dividedFilter } from '../../../api/live/feed.ts'
import { Fact } from '../../../parts/facts.tsx'
import { Safe } from '../../../parts/feedback/safe.tsx'
import { fullWords } from '../../../parts/moment.ts'
import { usePreferences } from '../../../preferences.ts'
import { exporting as words } from '../../../words/export.ts'

/** Range and filters of an export in words. */
export const Content = ({ filter, size }: { readonly filter: EventFilter; readonly size: string }) => {
  const { filters, range } = dividedFilter(filter)
  const { zone } = usePreferences()
  const { from, to, after, before, afterIndex, beforeIndex } = range
  const bounds = [
    from !== undefined && words.from(fullWords(from, zone)),
    to !== undefined && words.to(fullWords(to, zone)),
    after !== undefined && words.after(after),
    before !== undefined && words.before(before),
    afterIndex !== undefined && words.afterIndex(afterIndex),
    beforeIndex !== undefined && words.beforeIndex(beforeIndex),
  ].filter((text) => text !== false)
  const given = Object.entries(filters)
  return (
    <dl className="about-list">
      <Fact name={words.events}>{size}</Fact>
      <Fact name={words.range}>{bounds.join(' · ')}</Fact>
      <Fact name={words.filters}>
        {given.length === 0
          ? words.noFilters
          : given.map(([name, value]) => (
              <div key={name}>
                {words.names[name] ?? name}: <Safe text={value} />
              </div>
            ))}
      </Fact>
    </dl>
  )
}
