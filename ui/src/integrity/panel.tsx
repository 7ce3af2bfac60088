import type { ReactNode } from 'react'
import { CHECKPOINT, type LedgerStatus } from '../api/ledger.ts'
import { addressOf } from '../api/request.ts'
import { Button, buttonClass } from '../parts/button.tsx'
import { useCopy } from '../parts/copy.tsx'
import { Actions, Dialog } from '../parts/feedback/dialog.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { shellWord } from '../parts/shell-word.ts'
import { common } from '../words/common.ts'
import { integrity as words } from '../words/integrity.ts'
import { Check } from './check.tsx'
import { LedgerFacts, Mono } from './ledger-facts.tsx'
import { SavedCheckpoint } from './saved-checkpoint.tsx'
import { type Standing, whyOf, wordOf } from './standing.ts'

const looks: Partial<Readonly<Record<Standing['kind'], string>>> = {
  verified: 'badge on',
  suspended: 'badge warn',
  broken: 'badge gone',
  other: 'badge gone',
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
      <Mono text={line} />
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
        <Safe text={whyOf(standing)} />
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
