import { useLocation, useRouter } from '@tanstack/react-router'
import { type Answer, requestOf } from '../../api/evaluation.ts'
import { Button } from '../../parts/button.tsx'
import { curlOf, rollcallOf } from '../../parts/command-line.ts'
import { useCopy } from '../../parts/copy.tsx'
import { evaluate as words } from '../../words/evaluate.ts'
import { contextOf, type Form, publicOf, type Row, searchOf } from './form.ts'

/** Formats the evaluation as a `curl` command. */
const requestLine = ({ question, kind }: Answer, shown: readonly Row[]): string => {
  const { path, body } = requestOf({ ...question, context: contextOf(shown) }, kind)
  return curlOf(path, body)
}

/** Whether the command line can express the evaluation. A program argument cannot contain U+0000. */
const onCommandLine = (entity: string, shown: readonly Row[]): boolean =>
  shown.every(({ property }) => property !== '' && !property.includes('=')) &&
  [entity, ...shown.flatMap(({ property, value }) => [property, value])].every((text) => !text.includes('\0'))

/** Formats the evaluation as a `rollcall` command. */
const commandOf = ({ question }: Answer, shown: readonly Row[]): string => {
  const { namespace, flag, entity, at } = question
  const options = [
    `--namespace=${namespace}`,
    `--entity=${entity}`,
    ...shown.map(({ property, value }) => `--context=${property}=${value}`),
    ...(at === undefined ? [] : [`--at=${at}`]),
    '--explain',
  ]
  return rollcallOf(['evaluate'], options, flag)
}

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
