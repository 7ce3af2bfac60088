import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type HistoryEvent, proofPath } from '../../api/history.ts'
import { addressOf } from '../../api/request.ts'
import { eventWords as words } from '../../words/history.ts'
import { Button, buttonClass } from '../button.tsx'
import { Code } from '../code.tsx'
import { rollcallOf } from '../command-line.ts'
import { useCopy } from '../copy.tsx'
import { RestoreLink } from '../restore-link.tsx'
import { isCompared, positionBefore, toSubjectOf } from './event-links.ts'

/** Ways to prove an event: the command line, and the proof as a file. */
const Proof = ({ position }: { readonly position: string }) => {
  const command = rollcallOf(['prove'], [`--output=event-${position}.tlog-proof`], `#${position}`)
  const { copy, told } = useCopy()
  return (
    <div className="tight">
      <p>{words.proveWhy}</p>
      <Code label={words.proofCommand} text={command} />
      <div className="bar">
        <Button onClick={() => copy(command, words.proofCommand)}>{words.copyCommand}</Button>
        <a className={buttonClass()} href={addressOf(proofPath(position))} download={`event-${position}.tlog-proof`}>
          {words.proof}
        </a>
        {told}
      </div>
    </div>
  )
}

/** Ways on from an event: its link, the states around it, its request, its proof. */
export const EventActions = ({ event }: { readonly event: HistoryEvent }) => {
  const [proving, setProving] = useState(false)
  const { copy, told } = useCopy()
  const { position, stream, requestId, correlationId } = event
  const subject = toSubjectOf(event)
  const before = positionBefore(event)
  const request = correlationId === undefined ? requestId && { requestId } : { correlationId }
  return (
    <div className="tight">
      <div className="bar">
        <Button onClick={() => copy(addressOf(`history/${position}`), words.link)}>{words.copyLink}</Button>
        <Link {...subject} search={{ at: position }} className={buttonClass()}>
          {words.asOf}
        </Link>
        <Link {...subject} search={{ at: before }} className={buttonClass()}>
          {words.justBefore}
        </Link>
        {isCompared(event) && (
          <Link to="/history/compare" search={{ stream, a: before, b: position }} className={buttonClass()}>
            {words.compare}
          </Link>
        )}
        <RestoreLink event={event} />
        {request && (
          <Link to="/history" search={request} className={buttonClass()}>
            {words.inRequest}
          </Link>
        )}
        <Button aria-expanded={proving} onClick={() => setProving(!proving)}>
          {words.prove}
        </Button>
        {told}
      </div>
      {proving && <Proof position={position} />}
    </div>
  )
}
