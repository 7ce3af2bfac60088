import { useLocation, useRouter } from '@tanstack/react-router'
import type { Answer } from '../../api/evaluation.ts'
import { Button } from '../../parts/button.tsx'
import { useCopy } from '../../parts/copy.tsx'
import { evaluate as words } from '../../words/evaluate.ts'
import { commandOf, onCommandLine, requestLine } from './commands.ts'
import { type Form, publicOf, searchOf } from './form.ts'

/** Buttons that copy the evaluation without its private properties. */
export const Copies = ({
  answer,
  asked,
}: {
  readonly answer: Answer | undefined
  readonly asked: Form | undefined
}) => {
  const { copy, told } = useCopy()
  const router = useRouter()
  const { publicHref } = useLocation()
  const shown = asked ? publicOf(asked) : []
  const link = new URL(router.history.createHref(publicHref), window.location.href).href
  const long = asked && !('entity' in searchOf(asked)) ? words.tooLong : undefined
  const early = answer ? undefined : words.first
  const taken = onCommandLine(answer?.question.entity ?? '', shown)
  const line = (make: (answer: Answer) => string, thing: string) => answer && copy(make(answer), thing)
  return (
    <div className="tight">
      <span className="bar">
        <Button why={long} onClick={() => copy(link, words.things.link)}>
          {words.copyLink}
        </Button>
        <Button why={early} onClick={() => line((said) => requestLine(said, shown), words.things.curl)}>
          {words.copyCurl}
        </Button>
        <Button
          why={early ?? (taken ? undefined : words.notOnCommandLine)}
          onClick={() => line((said) => commandOf(said, shown), words.things.command)}
        >
          {words.copyCommand}
        </Button>
      </span>
      {told}
    </div>
  )
}
