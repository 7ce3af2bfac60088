import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { count, counts, object, texts, time, truth, word } from './fields.ts'

/** Reads of the history. The actor in the envelope is the reader. One stream per record: history-{day}+{id}. */
export const historyReadEvents = {
  HistoryRead: v1(
    object(
      'Number of reads of the history by one caller in one minute. If a process is killed, up to one minute of counts is lost.',
      {
        from: time('Beginning of the period.'),
        to: time('End of the period.'),
        requests: count('Number of requests.'),
        events: count('Number of events shown.'),
        opened: count('Number of requests that decrypted personal data.'),
        routes: counts('Requests by route.', 'path with parameters by name'),
      },
    ),
  ),
  HistoryExported: v1(
    object(
      'The history was exported or followed. The event is written before the first byte of the answer. Equal exports of one caller in the same minute, and more than ten of them, are counted in `HistoryRead`.',
      {
        format: word('Format of the answer.', 'value of the query `format`'),
        filter: texts(
          'Filters as given, by parameter. Of texts longer than 4,096 characters together, the rest is replaced by `… sha256:` and the digest of the whole text.',
        ),
        fromIndex: count('Index of the first event of the range.'),
        toIndex: Type.Optional(count('Index after the last event of the range; absent for a live stream.')),
        personal: truth('Whether personal data was decrypted.'),
      },
    ),
  ),
}

export type HistoryReadEvent = EventOf<typeof historyReadEvents>
