import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { clockAhead } from '../../api/clock.ts'
import { keys } from '../../api/keys.ts'
import { readLedger } from '../../api/ledger.ts'
import { readChecks, readEnding, readInfo } from '../../api/system.ts'
import { nameOf } from '../../api/tokens.ts'
import { Facts } from '../../parts/facts.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Time } from '../../parts/time.tsx'
import { number } from '../../words/common.ts'
import { system as words } from '../../words/system.ts'
import { FigureCharts } from './figures.tsx'

const MINUTE_MS = 60_000
/** Difference of two clocks (ms) that the page reports (ui.md §9.3). */
const DIFFER_MS = 2 * MINUTE_MS

/** Part of the page with its own read; a failed part leaves the others. */
const Part = <T,>({
  title,
  name,
  things,
  read,
  children,
}: {
  readonly title: string
  readonly name: string
  readonly things: string
  readonly read: (signal: AbortSignal) => Promise<T>
  readonly children: (value: T) => ReactNode
}) => {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.system, name],
    queryFn: ({ signal }) => read(signal),
  })
  return (
    <section className="stack">
      <h2>{title}</h2>
      {error && <LoadFailed things={things} error={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && <Loading rows={3} />}
      {data !== undefined && children(data)}
    </section>
  )
}

const BADGES = { ok: 'badge on', degraded: 'badge warn', failed: 'badge gone' }

const Clocks = () => {
  const apart = Math.abs(clockAhead())
  return apart > DIFFER_MS ? (
    <span className="notice">{words.clocksDiffer(Math.round(apart / MINUTE_MS))}</span>
  ) : (
    words.clocksAgree
  )
}

const Service = () => (
  <Part title={words.service} name="info" things={words.things.info} read={readInfo}>
    {({ version, nodeVersion, os, arch, storage }) => (
      <Facts
        of={{
          [words.version]: version,
          [words.node]: nodeVersion,
          [words.platform]: `${os}/${arch}`,
          [words.storage]: words.storages[storage.type] ?? storage.type,
          [words.writes]: storage.readOnly ? words.readOnly : words.writable,
          [words.clocks]: <Clocks />,
          [words.starts]: (
            <Link to="/history" search={{ type: 'Instance*' }}>
              {words.startsLink}
            </Link>
          ),
        }}
      />
    )}
  </Part>
)

const checkBadge = (status: keyof typeof BADGES) => <span className={BADGES[status]}>{words.check[status]}</span>

const Checks = () => (
  <Part title={words.checks} name="checks" things={words.things.checks} read={readChecks}>
    {({ checks = [] }) => (
      <Facts of={Object.fromEntries(checks.map(({ name, status }) => [name, checkBadge(status)]))} />
    )}
  </Part>
)

const Ledger = () => (
  <Part title={words.ledger} name="ledger" things={words.things.ledger} read={readLedger}>
    {({ state, size, sealed }) => (
      <Facts
        of={{
          [words.state]: (
            <span className={state === 'ok' ? BADGES.ok : state === 'building' ? BADGES.degraded : BADGES.failed}>
              {words.ledgerStates[state]}
            </span>
          ),
          [words.events]: <Link to="/history">{number(size)}</Link>,
          [words.sealedEvents]: sealed ? (
            <Link to="/history" search={{ beforeIndex: String(sealed.size) }}>
              {number(sealed.size)}
            </Link>
          ) : (
            words.notSealed
          ),
          [words.sealedAt]: sealed && <Time instant={sealed.sealedAt} />,
        }}
      />
    )}
  </Part>
)

const Ending = () => (
  <Part title={words.ending} name="ending" things={words.things.tokens} read={readEnding}>
    {(tokens) => (
      <>
        {tokens.length === 0 ? (
          <p className="muted">{words.noneEnding}</p>
        ) : (
          <ul className="tight" aria-label={words.ending}>
            {tokens.map((token) => (
              <li key={token.id}>
                <Link to="/settings/tokens/$id" params={{ id: token.id }}>
                  <Safe text={nameOf(token)} />
                </Link>{' '}
                <Time instant={token.expiresAt} />
              </li>
            ))}
          </ul>
        )}
        <p>
          <Link to="/settings/tokens" search={{ sort: 'expiresAt' }}>
            {words.moreEnding}
          </Link>
        </p>
      </>
    )}
  </Part>
)

/** State of the service, its ledger and its use (ui.md §11.17). */
export const SystemPage = () => (
  <>
    <PageHead heading={words.heading} title={[words.heading]} />
    <div className="system">
      <Service />
      <Checks />
      <Ledger />
      <Ending />
    </div>
    <FigureCharts />
  </>
)
