// step: online_softmax
    for (int key = start; key < stop; ++key) {
      const float score = s_row[key];
      const float m_new = score > m_i ? score : m_i;
      const float corr = __expf(m_i - m_new);
      l_i = l_i * corr + __expf(score - m_new);
      m_i = m_new;
    }
    lse[row] = m_i + logf(l_i);
