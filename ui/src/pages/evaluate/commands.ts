import { type Answer, requestOf } from '../../api/evaluation.ts'
import { curlOf, rollcallOf } from '../../parts/command-line.ts'
import { contextOf, type Row } from './form.ts'

/** Formats the evaluation as a `curl` command. */
export const requestLine = ({ question, kind }: Answer, shown: readonly Row[]): string => {
  const { path, body } = requestOf({ ...question, context: contextOf(shown) }, kind)
  return curlOf(path, body)
}

/** Whether the command line can express the evaluation. A program argument cannot contain U+0000. */
export const onCommandLine = (entity: string, shown: readonly Row[]): boolean =>
  shown.every(({ property }) => property !== '' && !property.includes('=')) &&
  [entity, ...shown.flatMap(({ property, value }) => [property, value])].every((text) => !text.includes('\0'))

/** Formats the evaluation as a `rollcall` command. */
export const commandOf = ({ question }: Answer, shown: readonly Row[]): string => {
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
