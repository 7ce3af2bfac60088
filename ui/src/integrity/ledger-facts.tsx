import type { LedgerStatus } from '../api/ledger.ts'
import { Fact } from '../parts/facts.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { Time } from '../parts/time.tsx'
import { common } from '../words/common.ts'
import { integrity as words } from '../words/integrity.ts'
import { useRemembered } from './remembered.ts'

/** Text of a program in full. */
export const Mono = ({ text }: { readonly text: string }) => (
  <code className="wrapping">
    <Safe text={text} />
  </code>
)

const Keys = ({ keys }: Pick<LedgerStatus, 'keys'>) => {
  const known = useRemembered()
  return (
    <ul className="stack" aria-label={words.keys}>
      {keys.map(({ vkey, since, until, compromised }) => (
        <li key={vkey} className="tight">
          <Mono text={vkey} />
          <span className="bar small muted">
            <span>
              {words.keySince} <Time instant={since} />
            </span>
            {until !== undefined && (
              <span>
                {words.keyUntil} <Time instant={until} />
              </span>
            )}
            {compromised && <span className="badge warn">{words.keyCompromised}</span>}
            {vkey === known?.vkey && <span className="badge on">{words.keyKnown}</span>}
          </span>
        </li>
      ))}
    </ul>
  )
}

const Witnesses = ({ witnesses }: Pick<LedgerStatus, 'witnesses'>) =>
  witnesses.length === 0 ? (
    <span className="muted">{words.noWitnesses}</span>
  ) : (
    <ul className="stack" aria-label={words.witnesses}>
      {witnesses.map(({ vkey, size, at, error, conflict }) => (
        <li key={vkey} className="tight">
          <Mono text={vkey} />
          <span className="small muted">
            {words.witness(size)} {at !== undefined && <Time instant={at} />}
          </span>
          {[error, conflict].map(
            (flaw, n) =>
              flaw !== undefined && (
                <span key={n} className="wrong">
                  <Safe text={flaw} />
                </span>
              ),
          )}
        </li>
      ))}
    </ul>
  )

const Scrub = ({ scrub: { at, through = 0, ok, firstBad } }: Pick<LedgerStatus, 'scrub'>) => {
  if (at === undefined) return <span className="muted">{words.noScrub}</span>
  return (
    <span className="tight">
      {ok === true ? (
        words.scrubOk(through)
      ) : (
        <span className="wrong">{words.scrubBad(firstBad?.index, firstBad?.kind)}</span>
      )}
      <span className="small muted">
        <Time instant={at} />
      </span>
    </span>
  )
}

/** Report of the service about its ledger, and the last check by this browser. */
export const LedgerFacts = ({ status }: { readonly status: LedgerStatus }) => {
  const { origin, size, sealed, keys, witnesses, scrub } = status
  const verified = useRemembered()?.verified
  return (
    <dl className="about-list" aria-label={words.facts}>
      <Fact name={words.origin}>{origin === undefined ? common.notKnown : <Mono text={origin} />}</Fact>
      <Fact name={words.size}>{words.count(size)}</Fact>
      {sealed && (
        <>
          <Fact name={words.sealedSize}>{words.count(sealed.size)}</Fact>
          <Fact name={words.root}>
            <Mono text={sealed.root} />
          </Fact>
          <Fact name={words.sealedAt}>
            <Time instant={sealed.sealedAt} exact />
          </Fact>
        </>
      )}
      <Fact name={words.lastVerified}>
        {verified ? (
          <>
            {words.lastVerifiedOf(verified.size)}, <Time instant={verified.at} exact />
          </>
        ) : (
          words.never
        )}
      </Fact>
      <Fact name={words.keys}>
        <Keys keys={keys} />
      </Fact>
      <Fact name={words.witnesses}>
        <Witnesses witnesses={witnesses} />
      </Fact>
      <Fact name={words.scrub}>
        <Scrub scrub={scrub} />
      </Fact>
    </dl>
  )
}
