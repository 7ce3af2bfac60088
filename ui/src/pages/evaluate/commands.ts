import { type Answer, requestOf } from '../../api/evaluation.ts'
import { addressOf } from '../../api/request.ts'
import { type Row, contextOf } from './form.ts'

/** A word for a shell, whatever is in it. */
const quoted = (text: string): string =>
  /^[-\w.,:/=@%+]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The request as a line for a shell, with the token in its environment. */
export const curlOf = ({ question, kind }: Answer, shown: readonly Row[]): string => {
  const { path, body } = requestOf({ ...question, context: contextOf(shown) }, kind)
  const headers = `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`
  return `curl -sS ${quoted(addressOf(path))} ${headers} -d ${quoted(body)}`
}

/** Whether the command line can be given these properties. */
export const onCommandLine = (shown: readonly Row[]): boolean =>
  shown.every(({ property }) => property !== '' && !property.includes('='))

/** The same as a line of the command-line tool. */
export const commandOf = ({ question }: Answer, shown: readonly Row[]): string => {
  const { namespace, flag, entity, at } = question
  const options = [
    `--address=${addressOf('').replace(/\/$/, '')}`,
    `--namespace=${namespace}`,
    `--entity=${entity}`,
    ...shown.map(({ property, value }) => `--context=${property}=${value}`),
    ...(at === undefined ? [] : [`--at=${at}`]),
    '--explain',
  ]
  return ['rollcall', 'evaluate', ...options, '--', flag].map(quoted).join(' ')
}
