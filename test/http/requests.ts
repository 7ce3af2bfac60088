/** Attack: its name, raw bytes, expected status, and the reason, field or text of the answer. */
export type Attack = readonly [string, string | Buffer, number, string]

export const H = 'Host: x\r\n'
export const A = `${H}Authorization: Bearer good\r\n`
export const bound = `${H}Authorization: Bearer bound\r\n`
export const get = (path: string, headers = A) => `GET ${path} HTTP/1.1\r\n${headers}\r\n`
export const post = (path: string, body: string | Buffer, headers = A) => {
  const bytes = Buffer.from(body as string, 'utf8')
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`, 'latin1'),
    bytes,
  ])
}
export const flags = '/api/v1/namespaces/a/flags'
export const body = '{"key":"k","name":"n"}'
export const withType = (type: string) => post(flags, body, `${A}Content-Type: ${type}\r\n`)
export const cookie = (pairs: string, more = '') => `${H}Cookie: ${pairs}\r\n${more}`
export const chunked = (path: string, size: number) =>
  `POST ${path} HTTP/1.1\r\n${A}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${' '.repeat(size)}\r\n0\r\n\r\n`
