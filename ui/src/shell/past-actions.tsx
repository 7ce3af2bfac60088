import { ChevronLeftIcon, ChevronRightIcon } from '@primer/octicons-react'
import { useNavigate } from '@tanstack/react-router'
import { EVERY } from '../api/access.ts'
import { streamOf, type Thing, toRestored } from '../links.ts'
import { useOpenThing } from '../open-thing.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { restoringRights } from '../parts/restore-link.tsx'
import { useMissing, useWhyNot } from '../why-not.ts'
import { past } from '../words/past.ts'
import { restore } from '../words/restore.ts'
import { useStep } from './step.ts'

/** Buttons for the past state of the open flag or segment. They leave the past. */
const OfThing = ({ thing, moment }: { readonly thing: Thing; readonly moment: string }) => {
  const navigate = useNavigate()
  const why = useWhyNot(undefined, ...restoringRights(thing))
  const whyAlone = useMissing()({ right: 'audit.read', namespaceKey: EVERY })
  const compare = { stream: streamOf(thing), a: moment, at: undefined } as { readonly stream: string }
  return (
    <>
      <Button why={why} onClick={() => void navigate(toRestored(thing, moment))}>
        {restore.action}
      </Button>
      <Button why={whyAlone} onClick={() => void navigate({ to: '/history/compare', search: compare })}>
        {restore.compare}
      </Button>
    </>
  )
}

/** Buttons of the banner of the past: steps by events, and for a flag or segment its restoration and comparison. */
export const PastActions = ({ moment }: { readonly moment: string }) => {
  const thing = useOpenThing()
  const { step, wrong } = useStep()
  return (
    <>
      <IconButton
        name={past.stepBack}
        icon={<ChevronLeftIcon />}
        aria-keyshortcuts="["
        onClick={() => void step('previous')}
      />
      <IconButton
        name={past.stepForward}
        icon={<ChevronRightIcon />}
        aria-keyshortcuts="]"
        onClick={() => void step('next')}
      />
      {wrong !== undefined && (
        <span role="alert">
          <Safe text={wrong} />
        </span>
      )}
      {thing && <OfThing thing={thing} moment={moment} />}
    </>
  )
}
