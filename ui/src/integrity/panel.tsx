import type { ReactNode } from 'react'
import { CHECKPOINT, type LedgerStatus } from '../api/ledger.ts'
import { addressOf } from '../api/request.ts'
import { Button, buttonClass } from '../parts/button.tsx'
import { useCopy } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { Actions, Dialog } from '../parts/feedback/dialog.tsx'
import { CodeText, Safe } from '../parts/feedback/safe.tsx'
import { shellWord } from '../parts/shell-word.ts'
import { Time } from '../parts/time.tsx'
import { common } from '../words/common.ts'
import { integrity as words } from '../words/integrity.ts'
import { Check, SavedCheckpoint } from './check.tsx'
import { useRemembered } from './remembered.ts'
import { type Standing, wordOf } from './standing.ts'

const Keys = ({ keys }: Pick<LedgerStatus, 'keys'>) => {
  const known = useRemembered()
  return (
    <ul className="stack" aria-label={words.keys}>
      {keys.map(({ vkey, since, until, compromised }) => (
        <li key={vkey} className="tight">
          <CodeText look="wrapping" text={vkey} />
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
          <CodeText look="wrapping" text={vkey} />
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
const LedgerFacts = ({ status }: { readonly status: LedgerStatus }) => {
  const { origin, size, sealed, keys, witnesses, scrub } = status
  const verified = useRemembered()?.verified
  const facts = {
    [words.origin]: origin === undefined ? common.notKnown : <CodeText look="wrapping" text={origin} />,
    [words.size]: words.count(size),
    [words.sealedSize]: sealed && words.count(sealed.size),
    [words.root]: sealed && <CodeText look="wrapping" text={sealed.root} />,
    [words.sealedAt]: sealed && <Time instant={sealed.sealedAt} exact />,
    [words.lastVerified]: verified ? (
      <>
        {words.lastVerifiedOf(verified.size)}, <Time instant={verified.at} exact />
      </>
    ) : (
      words.never
    ),
    [words.keys]: <Keys keys={keys} />,
    [words.witnesses]: <Witnesses witnesses={witnesses} />,
    [words.scrub]: <Scrub scrub={scrub} />,
  }
  return <Facts label={words.facts} of={facts} />
}

const Command = ({ name, line }: { readonly name: string; readonly line: string }) => {
  const { copy, told } = useCopy()
  return (
    <div className="tight">
      <div className="bar">
        <strong>{name}</strong>
        <Button look="plain" aria-label={words.copyCommand(name)} onClick={() => copy(line, name)}>
          {common.copy}
        </Button>
        {told}
      </div>
      <CodeText look="wrapping" text={line} />
    </div>
  )
}

const Elsewhere = (): ReactNode => {
  const address = addressOf('').replace(/\/$/, '')
  return (
    <section className="stack">
      <h3>{words.elsewhere}</h3>
      <Command
        name={words.commandLine}
        line={`rollcall checkpoint ${shellWord(`--address=${address}`)} --seal --save checkpoints/ --with-hashes`}
      />
      <Command
        name={words.fsck}
        line={`fsck ${shellWord(`--storage_url=${address}/audit/v1/ledger/`)} --bearer_token="$TOKEN" --public_key=vkey --ui=false --logtostderr`}
      />
      <div>
        <a className={buttonClass()} href={addressOf(CHECKPOINT)} download="checkpoint.txt">
          {words.download}
        </a>
      </div>
    </section>
  )
}

const looks: Partial<Readonly<Record<Standing['kind'], string>>> = {
  verified: 'badge on',
  suspended: 'badge warn',
  broken: 'badge gone',
  other: 'badge gone',
}

/** Panel of the ledger: its standing, the check by this browser, and the facts that the service reports. */
export const Panel = ({
  standing,
  status,
  onClose,
}: {
  readonly standing: Standing
  readonly status: LedgerStatus | undefined
  readonly onClose: () => void
}) => (
  <Dialog title={words.title} open drawer onClose={onClose}>
    <div className="tight">
      <div>
        <span className={looks[standing.kind] ?? 'badge'}>{wordOf(standing)}</span>
      </div>
      <p>
        <Safe text={standing.why} />
      </p>
    </div>
    {status && (
      <>
        <Check standing={standing} status={status} />
        <LedgerFacts status={status} />
        {status.sealed && <SavedCheckpoint />}
        <Elsewhere />
      </>
    )}
    <Actions>
      <Button onClick={onClose}>{common.close}</Button>
    </Actions>
  </Dialog>
)
