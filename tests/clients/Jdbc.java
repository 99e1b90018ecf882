/* The questions of clients.txt as JDBC's prepared statements. Prints a line for each: name, tab, rows. */
import java.sql.*;
import java.util.*;

class Jdbc {
	static final Timestamp START = Timestamp.valueOf("2024-03-03 04:05:00"), END = Timestamp.valueOf("2024-03-20 00:00:00");

	static void ask(Connection connection, String name, String sql, Object... parameters) throws SQLException {
		try (PreparedStatement named = connection.prepareStatement("SELECT set_config('application_name', ?, false)")) {
			named.setString(1, name);
			named.executeQuery();
		}
		/* several times, for the driver then prepares it on the server, and its plan may become a generic one */
		for (int round = 0; round < 12; round++)
			try (PreparedStatement statement = connection.prepareStatement(sql)) {
				for (int i = 0; i < parameters.length; i++)
					statement.setObject(i + 1, parameters[i]);
				StringBuilder rows = new StringBuilder();
				ResultSet result = statement.executeQuery();
				while (result.next())
					for (int c = 1; c <= result.getMetaData().getColumnCount(); c++)
						rows.append(c == 1 ? " (" : ", ").append(result.getObject(c));
				if (round == 11)
					System.out.println(name + "\t" + rows);
			}
	}

	public static void main(String[] arguments) throws SQLException {
		Properties properties = new Properties();
		properties.setProperty("user", System.getenv("PGUSER"));
		try (Connection connection = DriverManager.getConnection("jdbc:postgresql://localhost:" + System.getenv("CLIENT_PORT") + "/postgres", properties)) {
			ask(connection, "hourly", "SELECT date_trunc('hour', ts), count(*), sum(dur) FROM spans WHERE ts >= ? AND ts < ? GROUP BY 1 ORDER BY 1", START, END);
			ask(connection, "by_service", "SELECT service, count(*), avg(dur), max(dur) FROM spans GROUP BY service ORDER BY service");
			ask(connection, "daily_by_status", "SELECT ts::date, status, count(*) FROM spans WHERE ts BETWEEN ? AND ? GROUP BY 1, 2 ORDER BY 1, 2", START, END);
			ask(connection, "total", "SELECT count(*) FROM spans WHERE ts >= ? AND ts < ?", START, END);
			ask(connection, "services", "SELECT count(DISTINCT service) FROM spans");
			ask(connection, "slow", "SELECT service, sum(CASE WHEN dur >= 900000 THEN 1 ELSE 0 END) FROM spans GROUP BY service ORDER BY service");
			ask(connection, "having", "SELECT service, status FROM spans GROUP BY 1, 2 HAVING count(*) > ? ORDER BY 1, 2", 10000);
			ask(connection, "longest", "SELECT id, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC LIMIT ?", 10);
			ask(connection, "latest", "SELECT DISTINCT ON (service) service, ts, dur FROM spans ORDER BY service, ts DESC");
			ask(connection, "wrapped_count", "SELECT count(*) FROM (SELECT id FROM spans WHERE ts >= ? AND ts < ? OFFSET 0) AS sub", START, END);
			ask(connection, "p95", "SELECT service, percentile_cont(0.95) WITHIN GROUP (ORDER BY dur) FROM spans WHERE ts >= ? AND ts < ? GROUP BY 1 ORDER BY 1", START,
					Timestamp.valueOf("2024-03-04 00:00:00"));
			ask(connection, "extremes", "SELECT min(ts), max(ts) FROM spans");
			ask(connection, "in_list", "SELECT ts::date, sum(dur) FROM spans WHERE service IN (?, ?) AND status = ? GROUP BY 1 ORDER BY 1", "service 1", "service 3", "error");
			ask(connection, "milliseconds", "SELECT service, avg(dur / 1000.0) FROM spans GROUP BY 1 ORDER BY 1");
			ask(connection, "nulls", "SELECT count(*) FILTER (WHERE dur IS NULL) FROM spans");
			ask(connection, "weekday", "SELECT extract(dow FROM ts) AS day, count(*) FROM spans GROUP BY 1 ORDER BY 1");
			ask(connection, "of_others", "SELECT count(*) FROM spans WHERE service IN (SELECT service FROM spans WHERE ts < ?)", Timestamp.valueOf("2024-03-01 00:01:00"));
			ask(connection, "rollup", "SELECT service, status, count(*) FROM spans GROUP BY ROLLUP (1, 2) ORDER BY 1, 2");
			ask(connection, "top", "SELECT service, sum(dur) FROM spans GROUP BY service ORDER BY 2 DESC LIMIT 3");
		}
	}
}
